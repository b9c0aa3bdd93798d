// One call at a time: started, watched, stopped, and remembered.
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { call, type CallAnswer, type Progress } from '~/api/calls';
import { messageOf } from '~/api/problem';

export type Args = Record<string, unknown>;

/** A call that was made here; a call that was stopped has no answer. */
export interface Made {
  id: number;
  at: Date;
  args: Args;
  ms: number;
  answer: CallAnswer | null;
  /** What was sent to other servers, secrets masked. */
  requests: string[];
}

const MOST_KEPT = 20;
/** Calls are counted a moment after their answer. */
const COUNTED_AFTER_MS = 500;
let lastId = 0;
const remembered = new Map<string, Made[]>();

export function useCall(path: string) {
  const [progress, setProgress] = useState<Progress | null>(null);
  const [isRunning, setRunning] = useState(false);
  const [made, setMade] = useState<Made | null>(null);
  const [recent, setRecent] = useState(() => remembered.get(path) ?? []);
  const stopping = useRef<AbortController>(null);
  const queries = useQueryClient();
  useEffect(() => () => stopping.current?.abort(), []); // nobody could stop it any more
  const run = useCallback(
    async (args: Args) => {
      if (stopping.current) return null; // one at a time
      const stop = new AbortController();
      stopping.current = stop;
      setRunning(true);
      setProgress(null);
      setMade(null);
      const begun = performance.now();
      const requests: string[] = [];
      const told = { signal: stop.signal, onProgress: setProgress, onRequest: (text: string) => void requests.push(text) };
      const answer = await call(path, { args } as never, told).catch((error: unknown) => (stop.signal.aborted ? null : failed(error)));
      const done = { id: ++lastId, at: new Date(), args, ms: answer?.meta?.durationMs ?? performance.now() - begun, answer, requests };
      const kept = [done, ...(remembered.get(path) ?? [])].slice(0, MOST_KEPT);
      remembered.set(path, kept);
      setRecent(kept);
      setMade(done);
      setRunning(false);
      stopping.current = null;
      setTimeout(() => void queries.invalidateQueries({ queryKey: ['tools', 'versions'] }), COUNTED_AFTER_MS);
      return done;
    },
    [path, queries],
  );
  return { run, stop: () => stopping.current?.abort(), progress, isRunning, made, recent, show: setMade };
}

function failed(error: unknown): CallAnswer {
  return { ok: false, error: { tool: '', code: '', message: messageOf(error) }, meta: {} };
}
