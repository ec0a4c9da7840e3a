import { settings } from '../api/settings.ts'

/** Sets the title of the tab, with the name of the service. */
export function setDocumentTitle(title: string): void {
  document.title = `${title} · ${settings.branding.name}`
}
