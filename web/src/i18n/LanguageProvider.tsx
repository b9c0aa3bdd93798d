import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { en } from './en';
import { LANGUAGES } from './languages';
import { LanguageContext } from './useLanguage';

const STORAGE_KEY = 'onetool-language';

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(initialLanguage);
  useEffect(() => {
    document.documentElement.lang = language;
    localStorage.setItem(STORAGE_KEY, language);
  }, [language]);
  const value = useMemo(
    () => ({ language, locale: localeFor(language), messages: LANGUAGES[language] ?? en, setLanguage }),
    [language],
  );
  return <LanguageContext value={value}>{children}</LanguageContext>;
}

/** Return the language from the URL or the last visit. The default is English. */
function initialLanguage(): string {
  const language = new URLSearchParams(location.search).get('lang') ?? localStorage.getItem(STORAGE_KEY) ?? 'en';
  return Object.hasOwn(LANGUAGES, language) ? language : 'en';
}

/** Prefer the browser's regional variant of a language, such as `en-GB` for `en`. */
function localeFor(language: string): string {
  return navigator.languages.find((locale) => locale.split('-')[0] === language) ?? language;
}
