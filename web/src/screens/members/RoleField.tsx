import { Select } from '@mantine/core';
import type { Role } from '~/api/members';
import { useMessages } from '~/i18n';

const ROLES: Role[] = ['owner', 'maker', 'caller', 'auditor'];

interface Props {
  value: Role;
  onChange: (role: Role) => void;
}

/** The role of a member, with what it allows. */
export function RoleField({ value, onChange }: Props) {
  const texts = useMessages().members;
  return (
    <Select
      label={texts.role}
      description={texts.roleHints[value]}
      allowDeselect={false}
      data={ROLES.map((role) => ({ value: role, label: texts.roles[role] }))}
      value={value}
      onChange={(role) => onChange(role as Role)}
    />
  );
}
