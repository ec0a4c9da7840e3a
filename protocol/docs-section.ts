/** A section of a page, as the search of `/docs` finds it. */
export interface DocsSection {
  /** The page: `/docs/{page}`. */
  page: string
  /** The anchor; empty for the top of the page. */
  id: string
  title: string
  /** Without markup. */
  text: string
}
