// Addresses of the views. Everything shown can be linked to, and the back button works.

export function address(path, parameters = {}) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value) found.set(name, value);
  return `${path}${found.size ? `?${found}` : ""}`;
}

export const entityAddress = (name) => address("/entity", { name });
export const relationAddress = (name) => address("/relation", { name });

// The router listens to this event, which the browser sends for the back button only.
export function navigate(href) {
  history.pushState(null, "", href);
  dispatchEvent(new PopStateEvent("popstate"));
}

export const parameter = (name) => new URLSearchParams(location.search).get(name) ?? "";
