// Which language the screens speak. Another one is one more file and one more line here.
import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react';
import { en, type Messages } from './en';
import { zh } from './zh';

export const LANGUAGES: Record<string, Messages> = { en, zh };
const KEPT = 'onetool-language';

interface Spoken {
  language: string;
  /** How dates and numbers are written: as this browser does, where it speaks the language. */
  locale: string;
  messages: Messages;
  speak: (language: string) => void;
}

const Language = createContext<Spoken>({ language: 'en', locale: 'en', messages: en, speak: () => {} });

/** The language that was chosen here; English until somebody chooses. */
function chosen(): string {
  const asked = new URLSearchParams(location.search).get('lang') ?? localStorage.getItem(KEPT) ?? 'en';
  return Object.hasOwn(LANGUAGES, asked) ? asked : 'en';
}

const localeOf = (language: string) => navigator.languages.find((one) => one.split('-')[0] === language) ?? language;

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(chosen);
  useEffect(() => {
    document.documentElement.lang = language;
    localStorage.setItem(KEPT, language);
  }, [language]);
  const spoken = useMemo(() => ({ language, locale: localeOf(language), messages: LANGUAGES[language] ?? en, speak: setLanguage }), [language]);
  return <Language value={spoken}>{children}</Language>;
}

export const useLanguage = () => use(Language);
/** What the screens say. */
export const useWords = () => use(Language).messages;
