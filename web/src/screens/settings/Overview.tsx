import { useHealth } from '~/api/system';
import { QueryView } from '~/components/QueryView';
import { HealthProblems } from './HealthProblems';
import { SystemInfo } from './SystemInfo';

/** Health problems and facts about the process. */
export function Overview() {
  return (
    <QueryView query={useHealth()}>
      {(health) => (
        <>
          <HealthProblems problems={health.problems} />
          <SystemInfo health={health} />
        </>
      )}
    </QueryView>
  );
}
