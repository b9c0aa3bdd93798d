// The languages of the web UI. To add one, write its messages in a file next to `en.ts` and list it here.
import { en, type Messages } from './en';
import { zh } from './zh';

export const LANGUAGES: Record<string, Messages> = { en, zh };
