import { useState } from 'react';
import { useMe } from '~/api/members';
import type { Tool } from '~/api/tools';
import { WORKSPACE } from '~/api/workspace';
import {
  addRequest,
  isArgs,
  isSavedList,
  readStored,
  type SavedRequest,
  withoutSecrets,
  writeStored,
} from './storedArgs';
import type { Args } from './useCall';

const draftKey = (tool: Tool) => `onetool-draft${WORKSPACE}/${tool.id}`;

/** The arguments in the form of a tool. They survive leaving the page and reloading it, until the tab is closed. */
export function useDraft(tool: Tool, initialArgs: Args | undefined): [Args, (args: Args) => void] {
  const [args, setArgs] = useState(() => initialArgs ?? readStored(sessionStorage, draftKey(tool), isArgs) ?? {});
  const update = (changed: Args) => {
    setArgs(changed);
    writeStored(sessionStorage, draftKey(tool), withoutSecrets(changed, tool.argSchema));
  };
  return [args, update];
}

/** The saved requests of a tool, in this browser, of this user of this workspace. */
export function useSavedRequests(tool: Tool) {
  const user = useMe().data?.principal ?? '';
  const key = `onetool-requests${WORKSPACE}/${user}/${tool.name}`;
  const [stored, setStored] = useState<{ key: string; requests: SavedRequest[] }>();
  const requests = stored?.key === key ? stored.requests : (readStored(localStorage, key, isSavedList) ?? []);
  const write = (changed: SavedRequest[]): boolean => {
    if (!writeStored(localStorage, key, changed.length ? changed : undefined)) return false;
    setStored({ key, requests: changed });
    return true;
  };
  return {
    requests,
    /** Save a request without its secrets. Return false if the storage is full. */
    save: (name: string, args: Args) =>
      write(addRequest(requests, { name, args: withoutSecrets(args, tool.argSchema) })),
    remove: (name: string) => write(requests.filter((request) => request.name !== name)),
  };
}
