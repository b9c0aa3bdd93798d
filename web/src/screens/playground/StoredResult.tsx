import { Button, Group } from '@mantine/core';
import { useCallback, useEffect, useState } from 'react';
import { useRun } from '~/api/run';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { ValueView } from '~/screens/tester/ValueView';
import css from './playground.module.css';

const LINES_PER_PAGE = 100;

/** Reads a large result page by page. */
export function StoredResult({ handle }: { handle: string }) {
  const messages = useMessages();
  const { data, error, isPending, mutate } = useRun();
  const [offset, setOffset] = useState(1);
  const goTo = useCallback(
    (line: number) => {
      setOffset(line);
      mutate(`ot.result(handle=${JSON.stringify(handle)}, offset=${line}, limit=${LINES_PER_PAGE})`);
    },
    [handle, mutate],
  );
  useEffect(() => goTo(1), [goTo]);
  const page: unknown = data?.data;
  const totalLines = (page as { total_lines?: number } | undefined)?.total_lines ?? Infinity;
  return (
    <>
      <Notice>{messages.playground.storedResult}</Notice>
      <Group my="sm">
        <Button
          size="compact-sm"
          variant="default"
          disabled={offset === 1}
          onClick={() => goTo(Math.max(1, offset - LINES_PER_PAGE))}
        >
          {messages.playground.previous}
        </Button>
        <span className={css.muted}>{messages.playground.page(Math.ceil(offset / LINES_PER_PAGE))}</span>
        <Button
          size="compact-sm"
          variant="default"
          loading={isPending}
          disabled={offset + LINES_PER_PAGE > totalLines}
          onClick={() => goTo(offset + LINES_PER_PAGE)}
        >
          {messages.playground.next}
        </Button>
        <code>{handle}</code>
      </Group>
      {error ? <ErrorNotice error={error} /> : null}
      {page !== undefined && <ValueView value={page} />}
    </>
  );
}
