import type { RegistryPlan } from '~/api/registry';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';

/** The age of a stored answer, if the registry cannot be reached. */
export function OfflineNotice({ offline }: { offline: RegistryPlan['offline'] }) {
  const messages = useMessages();
  if (!offline) return null;
  return <Notice tone="warning">{messages.registry.offline(offline.problem, offline.ageSeconds)}</Notice>;
}
