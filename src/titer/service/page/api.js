// Requests to the service. Every failure becomes a ServiceError with a message for the user.

export class ServiceError extends Error {
  constructor({ code, message, suggestions = [], details = [] }) {
    super(message);
    Object.assign(this, { code, suggestions, details });
  }
}

const UNREACHABLE = { code: "unreachable", message: "The service cannot be reached. It may have been stopped; try again." };

export async function call(path, body) {
  let response;
  try {
    response = await fetch(path, body === undefined ? {} : {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new ServiceError(UNREACHABLE);
  }
  let found;
  try {
    found = await response.json();
  } catch {
    throw new ServiceError({ code: "unreadable", message: `The service responded with ${response.status} and no JSON.` });
  }
  if (!response.ok) throw new ServiceError(found.error ?? { code: "error", message: `Error ${response.status}` });
  return found;
}

// The evidence for one answer of a forecast as an SVG element; nothing is scored again. The browser parses the response
// itself (XMLHttpRequest), since the content security policy forbids turning strings into elements.
export const picture = (forecast, rank) => new Promise((resolve, reject) => {
  const request = new XMLHttpRequest();
  request.open("POST", "/v1/picture");
  request.setRequestHeader("Content-Type", "application/json");
  request.responseType = "document";
  request.onerror = () => reject(new ServiceError(UNREACHABLE));
  request.onload = () => {
    const drawn = request.status === 200 && request.response?.documentElement;
    if (!drawn) return reject(new ServiceError({ code: "error", message: `The picture could not be drawn (error ${request.status}).` }));
    resolve(document.importNode(drawn, true));
  };
  request.send(JSON.stringify({ forecast, rank, embedded: true }));
});
