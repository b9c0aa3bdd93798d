import { Modal, Tabs } from '@mantine/core';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { ClientServers } from './ClientServers';
import { PastedServers } from './PastedServers';
import { RegistryInstall } from './registry/RegistryInstall';

interface Props {
  opened: boolean;
  onClose: () => void;
}

export function AddServerDialog({ opened, onClose }: Props) {
  const messages = useMessages();
  const handleInstalled = (name: string) => {
    notify(messages.registry.installed(name));
    onClose();
  };
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      size="xl"
      title={messages.addServer.title}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      <Tabs defaultValue="paste" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="paste">{messages.addServer.pasteTab}</Tabs.Tab>
          <Tabs.Tab value="registry">{messages.addServer.registryTab}</Tabs.Tab>
          <Tabs.Tab value="client">{messages.addServer.clientTab}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="paste">
          <PastedServers onAdded={onClose} />
        </Tabs.Panel>
        <Tabs.Panel value="registry">
          <RegistryInstall onInstalled={handleInstalled} />
        </Tabs.Panel>
        <Tabs.Panel value="client">
          <ClientServers onAdded={onClose} />
        </Tabs.Panel>
      </Tabs>
    </Modal>
  );
}
