import { createContext, use } from 'react';
import { en, type Messages } from './en';

export interface LanguageContextValue {
  language: string;
  /** The locale for dates and numbers. */
  locale: string;
  messages: Messages;
  setLanguage: (language: string) => void;
}

export const LanguageContext = createContext<LanguageContextValue>({
  language: 'en',
  locale: 'en',
  messages: en,
  setLanguage: () => {},
});

export const useLanguage = () => use(LanguageContext);

/** Return the texts of the web UI in the current language. */
export const useMessages = () => use(LanguageContext).messages;
