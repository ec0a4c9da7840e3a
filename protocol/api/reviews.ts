/** The token of a review link. It has no place in a URL that a server logs. */
export const REVIEW_TOKEN_HEADER = 'x-slipway-review'

/** The path of the page that a review link opens, with its token as the fragment. */
export const REVIEW_PATH = '/review'

/** Maximum lengths in characters. */
export const MAX_COMMENT_LENGTH = 5000
export const MAX_NOTE_LENGTH = 1000
export const MAX_REVIEWER_NAME_LENGTH = 60
export const MAX_SELECTOR_LENGTH = 512
export const MAX_PLACE_TEXT_LENGTH = 500
export const MAX_NEIGHBOUR_LENGTH = 100

/** Of a subject: a preview, or the live version of a site. */
export const MAX_THREADS = 500
export const MAX_REPLIES = 100
export const MAX_REVIEW_LINKS = 20
