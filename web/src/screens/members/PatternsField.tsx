import { Textarea } from '@mantine/core';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { useMessages } from '~/i18n';

interface Props {
  value: string;
  onChange: (value: string) => void;
}

/** The tools that may be called, as patterns. */
export function PatternsField({ value, onChange }: Props) {
  const messages = useMessages();
  return (
    <Textarea
      label={messages.members.patterns}
      description={<InlineMarkdown text={messages.members.patternsHint} />}
      autosize
      minRows={2}
      maxRows={8}
      spellCheck={false}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
