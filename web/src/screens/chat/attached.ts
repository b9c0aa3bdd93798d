// Results of tools that go with a message.
import type { Tool } from '~/api/tools';
import { keywords } from '~/screens/tester/snippets';
import type { Made } from '~/screens/tester/useCall';

export interface Attached {
  tool: Tool;
  made: Made;
}

/** More than this of one result would leave no room for the answer. */
const MOST = 20_000;

/** The words of a message with what the tools have said. */
export function messageWith(text: string, attached: Attached[]): string {
  return [text.trim(), ...attached.map(said)].filter(Boolean).join('\n\n');
}

function said({ tool, made }: Attached): string {
  const { answer } = made;
  const told = answer?.ok ? (typeof answer.value === 'string' ? answer.value : JSON.stringify(answer.value, null, 2)) : `Error: ${answer?.error?.message}`;
  return `Result of \`${tool.name}(${keywords(made.args)})\`:\n\`\`\`\n${told.slice(0, MOST).replaceAll('```', "'''")}\n\`\`\``;
}
