import { useHistoryState } from 'wouter/use-browser-location';
import { useLiterals } from '~/api/code';
import { useBundles } from '~/api/tools';
import { BackLink } from '~/components/BackLink';
import { EmptyState } from '~/components/EmptyState';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { SaveCodeForm } from './SaveCodeForm';

/** What another page passes when it opens this one. */
export interface CodeToSave {
  code: string;
}

/** Saves the code of a run as a tool. */
export default function SaveCode() {
  const messages = useMessages();
  const code = useHistoryState<CodeToSave | null>()?.code ?? '';
  return (
    <>
      <BackLink href="/playground" label={messages.playground.title} />
      <PageHeader title={messages.codeTools.saveAsTool} lead={messages.codeTools.saveLead} />
      {code ? (
        <SaveCodeLoader code={code} />
      ) : (
        <EmptyState title={messages.codeTools.nothingToSave} icon="code">
          <p>{messages.codeTools.nothingToSaveHint}</p>
        </EmptyState>
      )}
    </>
  );
}

function SaveCodeLoader({ code }: { code: string }) {
  const literals = useLiterals(code);
  const bundles = useBundles();
  return (
    <QueryView query={bundles}>
      {(all) => (
        <QueryView query={literals}>
          {(found) => (
            <SaveCodeForm
              code={found.code}
              literals={found.literals}
              bundles={all.filter(({ origin, isEnabled }) => origin === 'bundle' && isEnabled)}
            />
          )}
        </QueryView>
      )}
    </QueryView>
  );
}
