export { LanguageProvider } from './LanguageProvider';
export { LANGUAGES } from './languages';
export { useLanguage, useMessages } from './useLanguage';
