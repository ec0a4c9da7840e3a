/** Maximum number of collaborators of a site. */
export const MAX_COLLABORATORS = 20

/** Maximum length of a password of a site in characters. */
export const MAX_PASSWORD_LENGTH = 200

/** Maximum size of a thumbnail. */
export const MAX_THUMBNAIL_BYTES = 20_000
