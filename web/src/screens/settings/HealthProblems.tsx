import type { Health } from '~/api/system';
import { Card } from '~/components/Card';
import { Notice } from '~/components/Notice';
import { useMessages } from '~/i18n';
import css from './settings.module.css';

export function HealthProblems({ problems }: { problems: Health['problems'] }) {
  const messages = useMessages();
  if (problems.length === 0) {
    return (
      <Notice tone="success">
        <strong>{messages.settings.healthyTitle}</strong> {messages.settings.healthyHint}
      </Notice>
    );
  }
  return (
    <Card>
      <h2>{messages.settings.problemCount(problems.length)}</h2>
      <ul className={css.problems}>
        {problems.map((problem) => (
          <li key={problem.what}>
            <Notice tone="warning">
              <div>{problem.what}</div>
              {problem.fix && (
                <div className={css.fix}>
                  {messages.settings.fix}: <code>{problem.fix}</code>
                </div>
              )}
            </Notice>
          </li>
        ))}
      </ul>
    </Card>
  );
}
