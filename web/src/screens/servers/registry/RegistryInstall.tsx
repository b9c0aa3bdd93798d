import { useState } from 'react';
import type { RegistryEntry } from '~/api/registry';
import { RegistryReview } from './RegistryReview';
import { RegistrySearch } from './RegistrySearch';

/** Find a server of the MCP registry, review it and install it. */
export function RegistryInstall({ onInstalled }: { onInstalled: (name: string) => void }) {
  const [search, setSearch] = useState('');
  const [chosen, setChosen] = useState<RegistryEntry | null>(null);
  return chosen ? (
    <RegistryReview entry={chosen} onBack={() => setChosen(null)} onInstalled={onInstalled} />
  ) : (
    <RegistrySearch search={search} onSearch={setSearch} onChoose={setChosen} />
  );
}
