import { useQuery } from '@tanstack/react-query';
import { fetchBundleTools } from '~/api/tools';
import { QueryView } from '~/components/QueryView';
import { ToolName } from '~/components/ToolName';
import css from './importer.module.css';

/** The first page of the tools in an imported bundle. */
export function ImportedTools({ bundleID }: { bundleID: string }) {
  const query = useQuery({ queryKey: ['tools', 'imported', bundleID], queryFn: () => fetchBundleTools(bundleID) });
  return (
    <QueryView query={query}>
      {(page) => (
        <ul className={css.tools}>
          {page.toolListItems.map((tool) => (
            <li key={tool.id}>
              <ToolName name={tool.name} title={tool.displayName} /> {tool.description.split('\n')[0]}
            </li>
          ))}
          {page.nextPageToken && <li>…</li>}
        </ul>
      )}
    </QueryView>
  );
}
