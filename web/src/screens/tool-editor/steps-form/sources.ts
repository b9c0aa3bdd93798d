import type { Messages } from '~/i18n/en';
import type { Parameter } from '../parameters';
import type { Reference, StepDraft } from '../steps';

/** What the values of a step can come from. */
export interface Sources {
  parameters: Parameter[];
  earlierSteps: StepDraft[];
}

/** Return the options of a list of sources. A source that does not exist, or only later, is an option of its own. */
export function sourceOptions(
  { parameters, earlierSteps }: Sources,
  reference: Reference | null,
  messages: Messages['codeTools'],
) {
  const toItem = (prefix: string) => (item: { id: string; name: string }) => ({
    value: item.id,
    label: item.name.trim() ? prefix + item.name.trim() : messages.unnamed,
  });
  const groups = [
    { group: messages.inputGroup, items: parameters.map(toItem('args.')) },
    { group: messages.resultGroup, items: earlierSteps.map(toItem('')) },
  ].filter(({ items }) => items.length > 0);
  const isKnown = [...parameters, ...earlierSteps].some(({ id }) => id === reference?.source);
  if (!reference || isKnown) return groups;
  const label = reference.source.startsWith('#') ? messages.missingSource : reference.source;
  return [...groups, { group: messages.missingGroup, items: [{ value: reference.source, label }] }];
}
