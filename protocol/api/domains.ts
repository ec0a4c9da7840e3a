/** Maximum length of a domain as it is entered, in characters. */
export const MAX_DOMAIN_TEXT_LENGTH = 300
