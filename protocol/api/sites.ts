/** Maximum number of collaborators of a site. */
export const MAX_COLLABORATORS = 20

/** Maximum size of a thumbnail. */
export const MAX_THUMBNAIL_BYTES = 20_000
