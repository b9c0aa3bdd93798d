// The settings with which an MCP client uses a workspace.
import { WORKSPACE } from '~/api/workspace';

/** Return the JSON that an MCP client needs to send an API key. */
export function toClientConfig(key: string, origin: string, workspace: string = WORKSPACE): string {
  const server = { type: 'http', url: `${origin}${workspace}/mcp`, headers: { Authorization: `Bearer ${key}` } };
  return JSON.stringify({ mcpServers: { onetool: server } }, null, 2);
}
