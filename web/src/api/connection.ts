// Whether the server responds. Every request that fails by the network reports it here.
import { useSyncExternalStore } from 'react';

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 15_000;
/** After this time without a failure, the delays start from the first one again. */
const CALM_MS = 30_000;

let isAway = false;
let attempts = 0;
let lastFailureAt = 0;
const listeners = new Set<() => void>();

function set(value: boolean): void {
  if (isAway === value) return;
  isAway = value;
  for (const listener of listeners) listener();
}

/** Report that a request got no response. */
export function reportAway(): void {
  if (Date.now() - lastFailureAt > CALM_MS) attempts = 0;
  lastFailureAt = Date.now();
  set(true);
}

/** Report that the server responds again. */
export const reportBack = (): void => set(false);

/** Return how long to wait before the next attempt to reach the server: longer each time. */
export const nextDelay = (): number => Math.min(FIRST_DELAY_MS * 2 ** attempts++, MAX_DELAY_MS);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useIsServerAway = (): boolean => useSyncExternalStore(subscribe, () => isAway);
