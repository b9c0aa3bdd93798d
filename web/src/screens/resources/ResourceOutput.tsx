import type { useReadResource } from '~/api/contents';
import { ErrorNotice } from '~/components/ErrorNotice';
import { ContentView } from './ContentView';

/** The content of the resource that was read last, or why it cannot be read. */
export function ResourceOutput({ reading }: { reading: ReturnType<typeof useReadResource> }) {
  if (reading.error) return <ErrorNotice error={reading.error} />;
  return reading.data ? <ContentView parts={reading.data.content ?? []} /> : null;
}
