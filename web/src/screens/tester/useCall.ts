import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { type CallResult, failedCall, invoke, type Progress } from '~/api/calls';
import type { Question } from '~/api/jobs';
import { errorMessage } from '~/api/problem';

export type Args = Record<string, unknown>;

export interface CompletedCall {
  id: number;
  at: Date;
  args: Args;
  ms: number;
  /** Null if the user stopped the call. */
  result: CallResult | null;
  /** The HTTP requests that the tool sent, with secrets masked. */
  requests: string[];
}

const MAX_RECENT_CALLS = 20;
/** The server updates its call counts shortly after it returns the result. */
const COUNT_DELAY_MS = 500;
let lastId = 0;
const recentCallsByPath = new Map<string, CompletedCall[]>();

/** Run the tool at a path, one call at a time. Recent calls are cached until the page is reloaded. */
export function useCall(path: string) {
  const [progress, setProgress] = useState<Progress | null>(null);
  const [questions, setQuestions] = useState<Question[]>([]);
  const [isRunning, setRunning] = useState(false);
  const [call, setCall] = useState<CompletedCall | null>(null);
  const [recentCalls, setRecentCalls] = useState(() => recentCallsByPath.get(path) ?? []);
  const activeRequest = useRef<AbortController>(null);
  const queries = useQueryClient();
  useEffect(() => () => activeRequest.current?.abort(), []);
  const run = useCallback(
    async (args: Args): Promise<CompletedCall | null> => {
      if (activeRequest.current) return null;
      const request = new AbortController();
      activeRequest.current = request;
      setRunning(true);
      setProgress(null);
      setCall(null);
      const startedAt = performance.now();
      const requests: string[] = [];
      const onRequest = (text: string) => void requests.push(text);
      const result = await invoke(path, { args } as never, {
        signal: request.signal,
        onProgress: setProgress,
        onRequest,
        onQuestion: (question) => setQuestions((previous) => [...previous, question]),
      }).catch((error: unknown) => (request.signal.aborted ? null : failedCall(errorMessage(error))));
      const ms = result?.meta?.durationMs ?? performance.now() - startedAt;
      const completed = { id: ++lastId, at: new Date(), args, ms, result, requests };
      const recent = [completed, ...(recentCallsByPath.get(path) ?? [])].slice(0, MAX_RECENT_CALLS);
      recentCallsByPath.set(path, recent);
      setRecentCalls(recent);
      setCall(completed);
      setRunning(false);
      setQuestions([]);
      activeRequest.current = null;
      setTimeout(() => {
        void queries.invalidateQueries({ queryKey: ['tools', 'versions'] });
        void queries.invalidateQueries({ queryKey: ['activity', 'tool'] });
      }, COUNT_DELAY_MS);
      return completed;
    },
    [path, queries],
  );
  const removeQuestion = (id: string) => setQuestions((previous) => previous.filter((question) => question.id !== id));
  return {
    run,
    stop: () => activeRequest.current?.abort(),
    progress,
    questions,
    removeQuestion,
    isRunning,
    call,
    recentCalls,
    show: setCall,
  };
}
