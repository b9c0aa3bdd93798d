import type { SecretOwner } from '~/api/secrets';

/**
 * Return the hosts to store. Without any, a secret of the workspace may be sent to every host, unless it was for
 * none before.
 */
export const toHosts = (of: SecretOwner, hosts: string[], before: string[] | null): string[] | null =>
  hosts.length || of === 'me' || before?.length === 0 ? hosts : null;
