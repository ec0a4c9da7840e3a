import type { PageSettings } from '../../protocol/api/page-settings.ts'

/** The settings that the server embeds into the page's head. */
export const settings: PageSettings = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name=slipway]')!.content,
)
