// Tool results that are sent with a chat message.
import type { Tool } from '~/api/tools';
import { formatKeywords } from '~/screens/tester/snippets';
import type { CompletedCall } from '~/screens/tester/useCall';

export interface Attachment {
  tool: Tool;
  call: CompletedCall;
}

/** Leaves room in the model's context for the response. */
const MAX_RESULT_LENGTH = 20_000;

/** Append attached results to the text of a message. */
export function buildMessage(text: string, attachments: Attachment[]): string {
  return [text.trim(), ...attachments.map(formatAttachment)].filter(Boolean).join('\n\n');
}

function formatAttachment({ tool, call }: Attachment): string {
  const output = formatOutput(call).slice(0, MAX_RESULT_LENGTH).replaceAll('```', "'''");
  return `Result of \`${tool.name}(${formatKeywords(call.args)})\`:\n\`\`\`\n${output}\n\`\`\``;
}

function formatOutput({ result }: CompletedCall): string {
  if (!result?.ok) return `Error: ${result?.error?.message}`;
  return typeof result.value === 'string' ? result.value : JSON.stringify(result.value, null, 2);
}
