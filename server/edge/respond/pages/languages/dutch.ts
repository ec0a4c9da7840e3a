import type { VisitorTexts } from './visitor-texts.ts'

export const DUTCH: VisitorTexts = {
  siteNotFound: { title: 'Site niet gevonden', text: 'Controleer het adres op typefouten.' },
  siteNotPublished: {
    title: 'Site nog niet gepubliceerd',
    text: 'De eerste versie is niet compleet. Probeer het later opnieuw.',
  },
  versionNotFound: {
    title: 'Versie niet gevonden',
    text: 'Deze versie van de site is nooit voltooid of is verwijderd.',
  },
  pageNotFound: { title: 'Pagina niet gevonden', text: 'Controleer het adres of begin op de startpagina.' },
  siteExpired: { title: 'Deze site is verlopen', text: 'De site is voor beperkte tijd gepubliceerd.' },
  badRequest: { title: 'Ongeldig verzoek', text: 'Het adres of het verzoek is onjuist.' },
  misdirected: {
    title: 'Verkeerd gericht verzoek',
    text: 'Deze verbinding hoort bij een andere site. Laad de pagina opnieuw.',
  },
  methodNotAllowed: {
    title: 'Methode niet toegestaan',
    text: 'Dit adres ondersteunt dit soort verzoeken niet.',
  },
  preconditionFailed: { title: 'Voorwaarde niet vervuld', text: 'Het bestand is gewijzigd.' },
  rangeNotSatisfiable: {
    title: 'Bereik niet beschikbaar',
    text: 'Het gevraagde deel ligt voorbij het einde van het bestand.',
  },
  internalError: {
    title: 'Er is iets misgegaan',
    text: 'De server kon het verzoek niet verwerken. Probeer het later opnieuw.',
  },
  unavailable: { title: 'Tijdelijk niet beschikbaar', text: 'Probeer het zo dadelijk opnieuw.' },
  unreadableForm: { title: 'Formulier onleesbaar', text: 'Ga terug en voer het wachtwoord opnieuw in.' },
  siteSuspended: {
    title: 'Deze site is geblokkeerd',
    text: 'De beheerder van deze dienst heeft de site offline gehaald.',
  },
  fileBlocked: {
    title: 'Bestand geblokkeerd',
    text: 'De beheerder van deze dienst heeft dit bestand geblokkeerd.',
  },
  homePage: 'Naar de startpagina',
  reportAbuse: 'Misbruik melden',
  terms: 'Voorwaarden',
  imprint: 'Colofon',
  contactOperator: 'Contact met de beheerder',
  anonymousNotice: {
    title: 'Deze site is niet geverifieerd',
    text: 'De site is zonder account gepubliceerd op {service}. Voer geen wachtwoorden of betaalgegevens in als u niet weet wie de site heeft gepubliceerd.',
    button: 'Doorgaan naar de site',
  },
  password: {
    title: 'Deze site is beveiligd met een wachtwoord',
    text: 'Vraag de eigenaar om het wachtwoord.',
    label: 'Wachtwoord',
    button: 'Site openen',
    missing: 'Voer het wachtwoord in.',
    wrong: 'Onjuist wachtwoord. Probeer het opnieuw.',
    tooManyAttempts: 'Te veel onjuiste wachtwoorden. Probeer het over {minutes} min opnieuw.',
  },
  report: {
    title: 'Een pagina melden',
    text: 'De beheerder van deze dienst ontvangt uw melding.',
    url: 'Adres van de pagina',
    reason: 'Wat is er mis mee?',
    reasons: {
      phishing: 'De pagina vraagt op misleidende wijze om wachtwoorden of betaalgegevens',
      malware: 'De pagina verspreidt malware',
      illegal: 'De inhoud is illegaal',
      copyright: 'De pagina schendt mijn auteursrecht',
      other: 'Iets anders',
    },
    details: 'Bijzonderheden',
    email: 'Uw e-mailadres, als de beheerder u iets mag vragen',
    button: 'Melding versturen',
    invalid: 'Controleer deze velden:',
    refused: 'De melding is niet aangenomen. Probeer het later opnieuw.',
  },
  reportReceived: { title: 'Melding ontvangen', text: 'Bedankt. De beheerder zal ernaar kijken.' },
  files: { title: 'Bestanden', count: '{count} bestanden, {size}', open: 'Openen', download: 'Downloaden' },
}
