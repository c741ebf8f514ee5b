"""What the laboratory's customers see of the analysis of their sample. Whatever is not said here is said in general
words."""

from orders.business import CustomerWords, Situation, SituationWords, StageWords

WORDS = CustomerWords(
    placed="We have your sample",
    stages=(
        StageWords(
            title="Instruments booked",
            ahead="Booking the instruments",
            steps=("book-spectrometer", "book-microscope"),
            after_reversal="Bookings cancelled",
            until_reversal="Cancelling the bookings",
            after_reversal_perhaps="No instrument is booked",
            until_reversal_perhaps="Making sure that no instrument is booked",
        ),
        StageWords(
            title="Sample analysed",
            steps=("spectrometry", "microscopy"),
            after_reversal="Analyses voided",
            until_reversal="Voiding the analyses",
            after_reversal_perhaps="No analysis stands",
            until_reversal_perhaps="Making sure that no analysis stands",
        ),
        StageWords(title="Findings reviewed", steps=("review",)),
        StageWords(title="Report published", steps=("report",)),
    ),
    situations={
        Situation.COMPLETE: SituationWords(
            status="Report ready",
            headline="Your report is ready.",
            sentence="It has the results of both instruments.",
        ),
        Situation.STOPPED: SituationWords(headline="We’re looking into a problem with your analysis."),
        Situation.CANCELLED: SituationWords(headline="Your analysis was cancelled."),
    },
    waits={"review": "One of our scientists is reviewing what was found. There’s nothing you need to do."},
    cancelled="Everything cancelled, and any report withdrawn",
)
