import type { ReactNode } from 'react';
import type { Resource, Template, useReadResource } from '~/api/contents';
import { EntryCard } from './EntryCard';
import { ResourceOutput } from './ResourceOutput';

interface Props {
  name: string;
  entry: Resource | Template;
  reading: ReturnType<typeof useReadResource>;
  children: ReactNode;
}

/** The card of a resource or a template, and what was read. */
export function ReadableCard({ name, entry, reading, children }: Props) {
  return (
    <EntryCard
      name={name}
      title={entry.title ?? entry.name}
      server={entry.server}
      text={entry.description}
      type={entry.mimeType}
    >
      {children}
      <ResourceOutput reading={reading} />
    </EntryCard>
  );
}
