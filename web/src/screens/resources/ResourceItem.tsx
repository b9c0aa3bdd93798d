import { Button } from '@mantine/core';
import { type Resource, useReadResource } from '~/api/contents';
import { useMessages } from '~/i18n';
import { ReadableCard } from './ReadableCard';

/** A resource and, once it is opened, its content. */
export function ResourceItem({ resource }: { resource: Resource }) {
  const messages = useMessages();
  const reading = useReadResource();
  return (
    <ReadableCard name={resource.uri} entry={resource} reading={reading}>
      <Button
        size="compact-sm"
        variant="default"
        loading={reading.isPending}
        onClick={() => reading.mutate(resource.uri)}
      >
        {messages.resources.read}
      </Button>
    </ReadableCard>
  );
}
