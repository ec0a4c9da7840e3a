import type { VisitorTexts } from './visitor-texts.ts'

export const GERMAN: VisitorTexts = {
  siteNotFound: { title: 'Website nicht gefunden', text: 'Bitte die Adresse auf Tippfehler prüfen.' },
  siteNotPublished: {
    title: 'Website noch nicht veröffentlicht',
    text: 'Die erste Version ist noch nicht vollständig. Bitte später erneut versuchen.',
  },
  versionNotFound: {
    title: 'Version nicht gefunden',
    text: 'Diese Version der Website wurde nie fertiggestellt, oder sie wurde gelöscht.',
  },
  pageNotFound: {
    title: 'Seite nicht gefunden',
    text: 'Bitte die Adresse prüfen oder auf der Startseite beginnen.',
  },
  siteExpired: {
    title: 'Diese Website ist abgelaufen',
    text: 'Sie wurde für begrenzte Zeit veröffentlicht.',
  },
  badRequest: { title: 'Ungültige Anfrage', text: 'Die Adresse oder die Anfrage ist fehlerhaft.' },
  misdirected: {
    title: 'Fehlgeleitete Anfrage',
    text: 'Diese Verbindung gehört zu einer anderen Website. Bitte die Seite neu laden.',
  },
  methodNotAllowed: {
    title: 'Methode nicht erlaubt',
    text: 'Diese Adresse unterstützt diese Art von Anfrage nicht.',
  },
  preconditionFailed: { title: 'Vorbedingung nicht erfüllt', text: 'Die Datei hat sich geändert.' },
  rangeNotSatisfiable: {
    title: 'Bereich nicht verfügbar',
    text: 'Der angeforderte Teil liegt hinter dem Ende der Datei.',
  },
  internalError: {
    title: 'Etwas ist schiefgegangen',
    text: 'Der Server konnte die Anfrage nicht bearbeiten. Bitte später erneut versuchen.',
  },
  unavailable: { title: 'Vorübergehend nicht verfügbar', text: 'Bitte gleich noch einmal versuchen.' },
  unreadableForm: {
    title: 'Formular nicht lesbar',
    text: 'Bitte zurückgehen und das Passwort erneut eingeben.',
  },
  siteSuspended: {
    title: 'Diese Website ist gesperrt',
    text: 'Der Betreiber dieses Dienstes hat sie vom Netz genommen.',
  },
  fileBlocked: { title: 'Datei gesperrt', text: 'Der Betreiber dieses Dienstes hat diese Datei gesperrt.' },
  homePage: 'Zur Startseite',
  reportAbuse: 'Missbrauch melden',
  terms: 'Nutzungsbedingungen',
  imprint: 'Impressum',
  contactOperator: 'Betreiber kontaktieren',
  anonymousNotice: {
    title: 'Diese Website ist nicht geprüft',
    text: 'Sie wurde ohne Konto auf {service} veröffentlicht. Bitte keine Passwörter oder Zahlungsdaten eingeben, wenn nicht bekannt ist, von wem sie stammt.',
    button: 'Weiter zur Website',
  },
  password: {
    title: 'Diese Website ist passwortgeschützt',
    text: 'Das Passwort ist beim Inhaber der Website erhältlich.',
    label: 'Passwort',
    button: 'Website öffnen',
    missing: 'Bitte das Passwort eingeben.',
    wrong: 'Falsches Passwort. Bitte erneut versuchen.',
    tooManyAttempts: 'Zu viele falsche Passwörter. Neuer Versuch in {minutes} Min. möglich.',
  },
  report: {
    title: 'Eine Seite melden',
    text: 'Der Betreiber dieses Dienstes erhält Ihre Meldung.',
    url: 'Adresse der Seite',
    reason: 'Was ist daran falsch?',
    reasons: {
      phishing: 'Sie fragt unter Vortäuschung nach Passwörtern oder Zahlungsdaten',
      malware: 'Sie verbreitet Schadsoftware',
      illegal: 'Ihr Inhalt ist rechtswidrig',
      copyright: 'Sie verletzt mein Urheberrecht',
      other: 'Etwas anderes',
    },
    details: 'Einzelheiten',
    email: 'Ihre E-Mail-Adresse, falls der Betreiber nachfragen darf',
    button: 'Meldung senden',
    invalid: 'Bitte prüfen Sie diese Felder:',
    refused: 'Die Meldung wurde nicht angenommen. Bitte versuchen Sie es später noch einmal.',
  },
  reportReceived: { title: 'Meldung erhalten', text: 'Vielen Dank. Der Betreiber wird sie prüfen.' },
  files: { title: 'Dateien', count: '{count} Dateien, {size}', open: 'Öffnen', download: 'Herunterladen' },
}
