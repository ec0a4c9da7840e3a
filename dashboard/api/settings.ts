import type { PageSettings } from '../../client/wire/page-settings.ts'

/** What the server says about itself in the page's head. */
export const settings: PageSettings = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name=slipway]')!.content,
)
