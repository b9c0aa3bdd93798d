// Short messages that disappear on their own.
import { notifications } from '@mantine/notifications';
import { errorMessage } from '~/api/problem';

export const notify = (message: string) => notifications.show({ message, autoClose: 4000 });
export const notifyError = (error: unknown) =>
  notifications.show({ message: errorMessage(error), color: 'red', autoClose: 9000 });
