// Asks the service; every failure becomes one kind of error, with words for people.

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
    throw new ServiceError({ code: "unreadable", message: `The service answered ${response.status} and nothing else.` });
  }
  if (!response.ok) throw new ServiceError(found.error ?? { code: "error", message: `Error ${response.status}` });
  return found;
}

export const names = async (kind, typed) =>
  (await call(`/v1/${kind}?limit=12&q=${encodeURIComponent(typed)}`)).names;
