// A word at the edge of the screen, that goes by itself.
import { notifications } from '@mantine/notifications';
import { messageOf } from '~/api/problem';

export const tell = (message: string) => notifications.show({ message, autoClose: 4000 });
export const tellFailure = (error: unknown) => notifications.show({ message: messageOf(error), color: 'red', autoClose: 9000 });
