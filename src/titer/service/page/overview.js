// What the views need before their first question: windows to choose from, frequent names and examples.

import { call } from "./api.js";

let found = null;

// Asked for once, but again after a failure.
export const overview = () => (found ??= call("/v1/overview").catch((error) => { found = null; throw error; }));

// Facts were added, so dates and frequent names may be others.
export const refresh = () => { found = null; };

export const usualWindow = async () => {
  const { windows } = await overview();
  return (windows[1] ?? windows[0]).steps;
};
