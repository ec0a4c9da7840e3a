/** Rows of a list per response, by default and at most. */
export const ADMIN_PAGE_SIZES = { default: 50, max: 200 }
