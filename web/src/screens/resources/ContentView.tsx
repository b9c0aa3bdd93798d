import type { ContentPart } from '~/api/content';
import { CodeBlock } from '~/components/CodeBlock';
import { MediaParts } from '~/components/MediaParts';
import { useMessages } from '~/i18n';
import css from './resources.module.css';

/** Texts and media of a resource or a message. Text is shown as it is, also if it is HTML. */
export function ContentView({ parts }: { parts: readonly ContentPart[] }) {
  const messages = useMessages();
  const texts = parts.map(textOf).filter((text) => text !== null);
  return (
    <div className={css.content}>
      {texts.map((text, index) => (
        <CodeBlock key={index} label={messages.resources.content}>
          {text}
        </CodeBlock>
      ))}
      <MediaParts parts={parts} />
    </div>
  );
}

/** The text of a part, or the URI of a link; null for media. */
function textOf(part: ContentPart): string | null {
  if (typeof part.text === 'string') return part.text;
  const resource = part.resource as { text?: unknown } | undefined;
  if (typeof resource?.text === 'string') return resource.text;
  return part.handle ? null : (part.uri ?? null);
}
