import { WORKSPACE } from '~/api/workspace';
import { PageHeader } from '~/components/PageHeader';
import { useMessages } from '~/i18n';
import { Appearance } from './Appearance';
import { ChatModels } from './ChatModels';
import { Overview } from './Overview';
import { SettingSections } from './SettingSections';
import css from './settings.module.css';

/** The settings. Those of a workspace are the operator's, so that only its status is shown. */
export default function Settings() {
  const messages = useMessages();
  const lead = WORKSPACE ? messages.settings.lead : messages.configuration.lead;
  return (
    <>
      <PageHeader title={messages.settings.title} lead={lead} />
      {WORKSPACE ? (
        <div className={css.sections}>
          <Overview />
          <ChatModels />
          <Appearance />
        </div>
      ) : (
        <SettingSections />
      )}
    </>
  );
}
