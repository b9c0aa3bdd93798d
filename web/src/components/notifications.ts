// Short messages that disappear on their own.
import { notifications } from '@mantine/notifications';
import { errorMessage, isUnreachable } from '~/api/problem';

export const notify = (message: string) => notifications.show({ message, autoClose: 4000 });

/** Show an error. A banner says that the server is away. */
export function notifyError(error: unknown): void {
  if (!isUnreachable(error)) notifications.show({ message: errorMessage(error), color: 'red', autoClose: 9000 });
}
