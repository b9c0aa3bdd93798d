import { useCallback, useMemo, useState } from 'react';
import type { Bundle } from '~/api/tools';
import { BundleLoader } from './BundleLoader';
import { bundleRows, type LoadedBundle } from './rows';
import { ToolList } from './ToolList';

/** The number of bundles that are expanded at first. */
const INITIALLY_EXPANDED = 6;

interface Props {
  bundles: Bundle[];
  showDisabled: boolean;
  tag: string | null;
  onTag: (tag: string) => void;
  /** The id of the bundle that the user just created. The list scrolls to it. */
  newBundle: string | undefined;
}

export function BundleList({ bundles, showDisabled, tag, onTag, newBundle }: Props) {
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(
    () => new Set(bundles.slice(INITIALLY_EXPANDED).map((bundle) => bundle.id)),
  );
  const [loaded, setLoaded] = useState<ReadonlyMap<string, LoadedBundle>>(new Map());
  const storeLoaded = useCallback(
    (id: string, bundle: LoadedBundle) => setLoaded((current) => new Map(current).set(id, bundle)),
    [],
  );
  const toggle = useCallback((id: string) => {
    setCollapsed((current) => {
      const next = new Set(current);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  const visible = useMemo(() => bundles.filter((bundle) => showDisabled || bundle.isEnabled), [bundles, showDisabled]);
  const expanded = useMemo(
    () => new Set(visible.map((bundle) => bundle.id).filter((id) => !collapsed.has(id))),
    [visible, collapsed],
  );
  const rows = useMemo(() => bundleRows(visible, expanded, loaded), [visible, expanded, loaded]);
  return (
    <>
      {[...expanded].map((id) => (
        <BundleLoader key={id} id={id} tag={tag} showDisabled={showDisabled} onLoaded={storeLoaded} />
      ))}
      <ToolList rows={rows} onTag={onTag} onToggle={toggle} scrollTo={newBundle} />
    </>
  );
}
