// One conversation: what it holds, and the question that is being answered.
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { type ChatBody, type Decision, decide, readSession } from '~/api/chat';
import { messageOf } from '~/api/problem';
import { post } from '~/api/stream';
import { useWords } from '~/i18n';
import { add, decided, entriesOf, type Entry, settle } from './thread';

export function useChat(session: string | undefined, onSession: (id: string) => void) {
  const words = useWords();
  const queries = useQueryClient();
  const [entries, setEntries] = useState<Entry[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [isLoading, setLoading] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const stopping = useRef<AbortController>(null);
  const current = useRef<string | undefined>(undefined);

  useEffect(() => {
    if (session === current.current) return;
    stopping.current?.abort();
    stopping.current = null; // what it still says belongs to the conversation that was left
    setBusy(false);
    current.current = session;
    setEntries([]);
    setError(null);
    setLoading(session !== undefined);
    if (session === undefined) return;
    const isShown = () => current.current === session;
    readSession(session)
      .then((kept) => isShown() && setEntries(entriesOf(kept.messages)))
      .catch((problem: unknown) => isShown() && setError(problem))
      .finally(() => isShown() && setLoading(false));
  }, [session]);
  useEffect(() => () => stopping.current?.abort(), []);

  /** Ask; return whether the server has taken the question. */
  const ask = useCallback(
    async (body: ChatBody): Promise<boolean> => {
      const stop = new AbortController();
      stopping.current = stop;
      setBusy(true);
      setEntries((before) => [...before, { kind: 'user', text: body.text }]);
      let [isTaken, isWhole] = [false, false];
      try {
        for await (const event of post('/chat', { ...body, session: current.current }, stop.signal)) {
          if (stopping.current !== stop) return true;
          isTaken = true;
          isWhole ||= event.event === 'done';
          if (event.event === 'session') {
            const { id } = event.data as { id: string };
            current.current = id;
            onSession(id);
          }
          setEntries((before) => add(before, event));
        }
        if (!isWhole) throw new Error(words.chat.cutShort);
      } catch (problem) {
        const text = stop.signal.aborted ? words.chat.stopped : messageOf(problem);
        if (stopping.current === stop) setEntries((before) => [...before, { kind: 'failed', text }]);
      } finally {
        if (stopping.current === stop) {
          setBusy(false);
          setEntries(settle);
        }
        void queries.invalidateQueries({ queryKey: ['sessions'] });
      }
      return isTaken || stop.signal.aborted;
    },
    [onSession, queries, words],
  );

  const answer = useCallback(async (approval: string, decision: Decision) => {
    try {
      await decide(approval, decision);
      setEntries((before) => decided(before, approval, decision !== 'discard'));
    } catch (problem) {
      setEntries((before) => [...before, { kind: 'failed', text: messageOf(problem) }]);
    }
  }, []);

  /** Forget what is shown, to begin anew. */
  const clear = useCallback(() => {
    if (current.current === undefined) setEntries([]);
  }, []);

  return { entries, isBusy, isLoading, error, ask, answer, clear, stop: () => stopping.current?.abort() };
}
