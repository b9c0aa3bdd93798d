import type { RegistryPlan } from '~/api/registry';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import { RepositoryLink } from './RepositoryLink';
import css from './registry.module.css';

/** Who publishes a server, and which package would run. */
export function PlanFacts({ plan }: { plan: RegistryPlan }) {
  const messages = useMessages();
  const { server } = plan;
  const digests = Object.values(plan.digests);
  return (
    <>
      <h3 className={css.untrusted}>
        {server.name} {server.version}
      </h3>
      <p className={css.untrusted}>{server.description}</p>
      {server.status !== 'active' && (
        <Notice tone="warning">
          {server.status} {server.statusMessage}
        </Notice>
      )}
      <dl className={css.facts}>
        <dt>{messages.registry.publisher}</dt>
        <dd>{server.publisher}</dd>
        <dt>{messages.registry.repository}</dt>
        <dd>
          <RepositoryLink url={server.repository} />
        </dd>
        <dt>{messages.registry.registry}</dt>
        <dd>{plan.registry}</dd>
        <dt>{plan.kind === 'remote' ? messages.registry.url : messages.registry.package}</dt>
        <dd>
          <code>{plan.kind === 'remote' ? plan.package : `${plan.kind} ${plan.package} ${plan.packageVersion}`}</code>
        </dd>
        {plan.kind !== 'remote' && (
          <>
            <dt>{messages.registry.digest}</dt>
            <dd>
              {plan.digestProblem
                ? messages.registry.noDigest(plan.digestProblem)
                : digests.map((digest) => <code key={digest}>{digest}</code>)}
            </dd>
          </>
        )}
      </dl>
    </>
  );
}
