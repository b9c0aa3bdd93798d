// The settings of this OneTool, and the keys of chat models. In workspaces, they are the operator's.
import { useQuery } from '@tanstack/react-query';
import { useChange } from './changes';
import { api, type Schemas, unwrap } from './client';
import { Problem } from './problem';

export type Setting = Schemas['SettingResponse'];

export interface SettingChange {
  key: string;
  value: unknown;
  /** The hash of the value that the user saw. */
  digest: string;
}

export const useSettings = () => useQuery({ queryKey: ['settings'], queryFn: () => unwrap(api.GET('/settings')) });

export const fetchSetting = (key: string) => unwrap(api.GET('/settings/{key}', { params: { path: { key } } }));

const putSetting = ({ key, value, digest }: SettingChange) =>
  unwrap(api.PUT('/settings/{key}', { params: { path: { key } }, body: { value, digest } }));

const deleteSetting = ({ key, digest }: Omit<SettingChange, 'value'>) =>
  unwrap(api.DELETE('/settings/{key}', { params: { path: { key }, query: { digest } } }));

export const useSaveSetting = () => useChange(putSetting);

export const useResetSetting = () => useChange(deleteSetting);

/** Whether a change failed because the setting was changed elsewhere. */
export const isConflict = (error: unknown): boolean => error instanceof Problem && error.status === 409;

/** Replace a list by a changed one, which is removed if it is empty. */
async function changeList(key: string, change: (items: string[]) => string[]): Promise<void> {
  const { stored, digest } = await fetchSetting(key);
  const before = Array.isArray(stored) ? stored.map(String) : [];
  const value = change(before);
  if (JSON.stringify(value) === JSON.stringify(before)) return;
  await (value.length ? putSetting({ key, value, digest }) : deleteSetting({ key, digest }));
}

export interface ListChange {
  /** The list that gets an item. */
  add?: string;
  /** The lists that lose it. */
  remove: string[];
  item: string;
}

/** Move an item between lists in the settings. Other changes of the lists stay. */
export const useChangeLists = () =>
  useChange(async ({ add, remove, item }: ListChange) => {
    for (const key of remove) await changeList(key, (items) => items.filter((other) => other !== item));
    if (add) await changeList(add, (items) => (items.includes(item) ? items : [...items, item]));
  });

export const useSaveProviderKey = () =>
  useChange(({ name, key }: { name: string; key: string }) =>
    unwrap(api.PUT('/providers/{name}/key', { params: { path: { name } }, body: { key } })),
  );

export const useDeleteProviderKey = () =>
  useChange((name: string) => unwrap(api.DELETE('/providers/{name}/key', { params: { path: { name } } })));

export const useSetDefaultProvider = () =>
  useChange((name: string) => unwrap(api.PUT('/providers/default', { body: { name } })));
