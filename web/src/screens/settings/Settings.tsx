import { useHealth } from '~/api/system';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { Appearance } from './Appearance';
import { ChatModels } from './ChatModels';
import { HealthProblems } from './HealthProblems';
import { SystemInfo } from './SystemInfo';
import css from './settings.module.css';

export default function Settings() {
  const messages = useMessages();
  const query = useHealth();
  return (
    <>
      <PageHeader title={messages.settings.title} lead={messages.settings.lead} />
      <div className={css.sections}>
        <QueryView query={query}>
          {(health) => (
            <>
              <HealthProblems problems={health.problems} />
              <SystemInfo health={health} />
            </>
          )}
        </QueryView>
        <ChatModels />
        <Appearance />
      </div>
    </>
  );
}
