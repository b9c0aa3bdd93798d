import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { type ChatBody, fetchSession } from '~/api/chat';
import type { Answer, Question } from '~/api/jobs';
import { errorMessage } from '~/api/problem';
import { streamPost } from '~/api/sse';
import { useMessages } from '~/i18n';
import type { ChatFile } from './chatFiles';
import { applyEvent, closePendingCalls, type Entry, entriesFromMessages, resolveQuestion } from './entries';

/** The state of one conversation. `onSession` receives the id that the server assigns to a new one. */
export function useChat(session: string | undefined, onSession: (id: string) => void) {
  const messages = useMessages();
  const queries = useQueryClient();
  const [entries, setEntries] = useState<Entry[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [isLoading, setLoading] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const activeRequest = useRef<AbortController>(null);
  const currentSession = useRef<string | undefined>(undefined);

  useEffect(() => {
    if (session === currentSession.current) return;
    activeRequest.current?.abort();
    activeRequest.current = null; // later events belong to the previous conversation
    setBusy(false);
    currentSession.current = session;
    setEntries([]);
    setError(null);
    setLoading(session !== undefined);
    if (session === undefined) return;
    const isCurrent = () => currentSession.current === session;
    fetchSession(session)
      .then((stored) => isCurrent() && setEntries(entriesFromMessages(stored.messages)))
      .catch((problem: unknown) => isCurrent() && setError(problem))
      .finally(() => isCurrent() && setLoading(false));
  }, [session]);
  useEffect(() => () => activeRequest.current?.abort(), []);

  /** Send a message. Return whether the server accepted it. */
  const send = useCallback(
    async (body: ChatBody, files: ChatFile[]): Promise<boolean> => {
      const request = new AbortController();
      activeRequest.current = request;
      setBusy(true);
      setEntries((previous) => [...previous, { kind: 'user', text: body.text, files }]);
      let [isAccepted, isComplete] = [false, false];
      try {
        for await (const event of streamPost('/chat', { ...body, session: currentSession.current }, request.signal)) {
          if (activeRequest.current !== request) return true;
          isAccepted = true;
          isComplete ||= event.event === 'done';
          if (event.event === 'session') {
            const { id } = event.data as { id: string };
            currentSession.current = id;
            onSession(id);
          }
          setEntries((previous) => applyEvent(previous, event));
        }
        if (!isComplete) throw new Error(messages.chat.incomplete);
      } catch (problem) {
        const text = request.signal.aborted ? messages.chat.stopped : errorMessage(problem);
        if (activeRequest.current === request) setEntries((previous) => [...previous, { kind: 'error', text }]);
      } finally {
        if (activeRequest.current === request) {
          setBusy(false);
          setEntries(closePendingCalls);
        }
        void queries.invalidateQueries({ queryKey: ['sessions'] });
      }
      return isAccepted || request.signal.aborted;
    },
    [onSession, queries, messages],
  );

  const resolve = useCallback(
    (question: Question, answer: Answer) => setEntries((previous) => resolveQuestion(previous, question, answer)),
    [],
  );

  /** Clear a conversation that has no session yet. */
  const clear = useCallback(() => {
    if (currentSession.current === undefined) setEntries([]);
  }, []);

  return { entries, isBusy, isLoading, error, send, resolve, clear, stop: () => activeRequest.current?.abort() };
}
